import { build, runOrRefuse } from './prepare.mjs';

await runOrRefuse(build);
