import { describeCrashes } from '../support/saga-crashes.ts';

describeCrashes('withdrawals and purchases');
