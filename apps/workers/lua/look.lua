-- Look after the tickets of one turnstile that wait: their leases are renewed, and what a flush has lost comes back in
-- its old order. Whoever looks also admits who can go by now: after a rate's window, a cooling, or a driver's death.
reap()
local bars = {}
local tickets = {}
for _, each in ipairs(given.waiting) do
  table.insert(tickets, each.ticket)
  bars[each.ticket] = barred(each.ticket)
  if bars[each.ticket] then
    forget(each.ticket)
  elseif not redis.call('ZSCORE', HELD, each.ticket) then
    join(each.ticket, each.tokens, each.order)
  end
end
return told(tickets, bars)
