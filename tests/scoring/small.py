"""Small settings for tests of scoring: enough training to mean something, little enough to be quick."""

SMALL = {
    "critic.steps": 600,
    "critic.refresh": 200,
    "critic.hidden": 32,
    "critic.discount": 0.8,
    "transport.steps": 400,
    "transport.hidden": 32,
    "transport.states": 700,
    "transport.anchors": 40,
    "transport.neighbours": 4,
    "transport.neighbour_pool": 600,
    "baselines.fit_steps": 200,
    "baselines.neighbour_rows": 500,
    "evaluation.replicates": 200,
}
REFERENCE = (-50.0, 50.0)
