-- Give back a place, or a place in the queue, and admit the next in the same breath.
if given.unused then
  untake(given.ticket)
elseif given.used then
  correct(given.ticket, given.used)
end
forget(given.ticket)
if troubles('trial') == given.ticket then
  redis.call('HDEL', TROUBLE, 'trial') -- the next to come tries
end
reap()
promote()
