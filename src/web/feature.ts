import type { Feature } from '../feature.ts';
import { createLinkFollower } from '../funding/follow-links.ts';
import { findFundingPage } from '../funding/page-view.ts';
import { findPageView } from '../invoices/page-view.ts';
import type { SandboxOnRamp } from '../sandbox/on-ramp/sandbox-on-ramp.ts';
import type { SandboxShops } from '../sandbox/shop/open-shops.ts';
import { findPreview } from '../shopping/preview.ts';
import { addBotPage } from './bot-page.ts';
import { addBuyPages } from './buy/add-buy-pages.ts';
import { addInvoicePage } from './invoice-page.ts';
import { addOnRampPage } from './on-ramp-page.ts';
import { addPages } from './pages.ts';
import { addPreviewPage } from './preview-page.ts';
import { addResetPage } from './reset-page.ts';

interface WebParts {
  readonly sandboxShops: SandboxShops | undefined;
  readonly sandboxOnRamp: SandboxOnRamp | undefined;
}

export const web: Feature<unknown, WebParts> = {
  name: 'web',
  pages(app, parts) {
    const { document, readiness, mode, db, secrets, networks, logger, publicUrl, shops, onRamps } = parts;
    const { sandboxShops, sandboxOnRamp } = parts;
    const context = addPages(app, { document, mode, readiness });
    addInvoicePage(app, { context, publicUrl, find: (token) => findPageView(db, token) });
    addPreviewPage(app, {
      context,
      find: (token) => findPreview(db, token),
      readPicture: (url, holder) => shops.pictures.read(url, holder),
      linkFor: (url) => sandboxShops?.linkFor(url) ?? url,
    });
    addBuyPages(app, {
      context,
      publicUrl,
      networks,
      onRamps,
      logger,
      find: (token) => findFundingPage(db, secrets, token),
      follower: createLinkFollower({ db }),
    });
    if (sandboxOnRamp !== undefined) addOnRampPage(app, { context, onRamp: sandboxOnRamp });
    addBotPage(app, context);
    addResetPage(app, context);
  },
};
