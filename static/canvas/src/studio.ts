/* What every page has: theme, submit keys, copy buttons, lists that stay fresh. */
import { startCopy } from "./studio/copy";
import { startRuns } from "./studio/runs";
import { startSubmit } from "./studio/submit";
import { startTheme } from "./studio/theme";

startTheme();
startSubmit();
startCopy();
startRuns();
