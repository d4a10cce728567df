-- Come to the line with a ticket: admitted at once, or last in the queue, or turned away by the circuit.
reap()
forget_trouble_if_over()
local bar = barred(given.ticket)
if not bar and not redis.call('ZSCORE', HELD, given.ticket) then
  join(given.ticket, given.tokens)
end
return told({ given.ticket }, { [given.ticket] = bar })
