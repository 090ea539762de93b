import { describeCrashes } from '../support/saga-crashes.ts';

describeCrashes('bridges and swaps');
