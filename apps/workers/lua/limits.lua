-- The limits were learnt on the way here: admit who may go under them.
reap()
promote()
