"""`duolog top`: what applications do, from one look to the next (`looks`), as tables (`screen`)."""
