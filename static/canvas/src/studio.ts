/* What every page has: theme, submit keys, copy buttons, examples, profiles, lists that stay fresh, the palette. */
import { startCopy } from "./studio/copy";
import { startExamples } from "./studio/examples";
import { startPalette } from "./studio/palette";
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
startPalette();
