/* What every page has: theme, submit keys, copy buttons, examples, what a profile offers, lists that stay fresh. */
import { startCopy } from "./studio/copy";
import { startExamples } from "./studio/examples";
import { startProfiles } from "./studio/profiles";
import { startRuns } from "./studio/runs";
import { startSubmit } from "./studio/submit";
import { startTheme } from "./studio/theme";

startTheme();
startSubmit();
startCopy();
startExamples();
startProfiles();
startRuns();
