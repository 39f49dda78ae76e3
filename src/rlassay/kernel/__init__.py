"""What everything that learns here is built from: networks and the loop that fits them."""
