/* What every page has: theme, submit keys, copy buttons, examples, lists that stay fresh. */
import { startCopy } from "./studio/copy";
import { startExamples } from "./studio/examples";
import { startRuns } from "./studio/runs";
import { startSubmit } from "./studio/submit";
import { startTheme } from "./studio/theme";

startTheme();
startSubmit();
startCopy();
startExamples();
startRuns();
