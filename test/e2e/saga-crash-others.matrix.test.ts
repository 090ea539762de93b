import { describeCrashes } from '../support/saga-crashes.ts';

describeCrashes('all others');
