import type { FastifyInstance } from 'fastify';
import { readForms } from '../../kernel/http/parse-form.ts';
import { type ApprovePageParts, addApprovePages } from './approve-page.ts';
import { addConfirmPage } from './confirm-page.ts';
import { addConnectPage, type ConnectPageParts } from './connect-page.ts';
import { addDevicesPage } from './devices-page.ts';
import { addCreateKeyPage } from './keys/create-key-page.ts';
import { addKeyPage } from './keys/key-page.ts';
import type { KeyPageParts } from './keys/key-parts.ts';
import { addKeysPage } from './keys/keys-page.ts';
import { addOverviewPage } from './overview-page.ts';
import { addSecurityPage } from './security-page.ts';
import { addProblemPages, addSignOut, createShell } from './shell.ts';
import { addSignInPage, type SignInPageParts } from './sign-in-page.ts';

export type AppPageParts = SignInPageParts & ApprovePageParts & KeyPageParts & Omit<ConnectPageParts, 'publicUrl'>;

/** The owner's own pages, under /app, and signing in and out. */
export function addAppPages(app: FastifyInstance, parts: AppPageParts): void {
  app.register(async (scope) => {
    readForms(scope);
    addProblemPages(scope, parts.context);
    addSignInPage(scope, parts);
    addSignOut(scope, parts);
    const shell = createShell(scope, parts);
    addConfirmPage(shell, parts);
    addOverviewPage(shell, parts);
    addApprovePages(shell, parts);
    addKeysPage(shell, parts);
    addCreateKeyPage(shell, parts);
    addKeyPage(shell, parts);
    addConnectPage(shell, parts);
    addDevicesPage(shell, parts);
    addSecurityPage(shell, parts);
  });
}
