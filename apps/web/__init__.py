"""The studio's pages and sockets: nothing below knows of them.

Pages      compose (a task is written), runs_list, run, edit, conductors, sign_in, errors, health
Run page   run takes requests; standing reads a run once for head, outline and answer, outline makes its lines, trouble
           says why it failed; panel is one step, pieces what that step may read; trail is the list of events
Edit page  edit takes requests; draft reads the form back into a workflow, judged shows it with faults and fates
Runs page  runs_list takes requests, lines makes its rows, suggestions what its filter offers; peek is a run beside it,
           saved_views keeps filters; palette answers the command palette, on every page
Conductor  conductors takes requests and tells the health; conducting makes figures and plots of what one has written
Sockets    sockets speaks to browsers; following reads what they are told, hearing listens for what is new
Words      figures (numbers, titles), looks (workers' chips), texts (long ones, cut), markdown (what models write, safe)
Requests   access (who may see what), posted (what forms bring along), bodies (no UTF-8, no form), tracing (their names)
"""
