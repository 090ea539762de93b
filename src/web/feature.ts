import type { Networks } from '../chains/network.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Feature } from '../kernel/feature.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { createLinkFollower } from '../payments/funding/follow-links.ts';
import type { OnRamp } from '../payments/funding/on-ramp.ts';
import { findFundingPage } from '../payments/funding/page-view.ts';
import { findPageView } from '../payments/invoices/page-view.ts';
import type { Shopping } from '../shopping/search/open-shopping.ts';
import { findPreview } from '../shopping/search/preview.ts';
import { addBotPage } from './bot-page.ts';
import { addBuyPages } from './buy/add-buy-pages.ts';
import { addInvoicePage } from './invoice-page.ts';
import { addOnRampPage, type TestCardCompany } from './on-ramp-page.ts';
import { addPages, type PageParts } from './pages.ts';
import { addPreviewPage } from './preview-page.ts';
import { addResetPage } from './reset-page.ts';

interface SandboxPages {
  /** The address at which a browser on this machine finds a page of the sandbox's shops; undefined for any other page. */
  readonly linkFor: (url: string) => string | undefined;
  readonly onRamp: TestCardCompany | undefined;
}

interface WebParts extends PageParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly networks: Networks;
  readonly logger: Logger;
  readonly publicUrl: () => string;
  readonly shops: Pick<Shopping, 'pictures'>;
  readonly onRamps: readonly OnRamp[];
  /** Undefined in live mode. */
  readonly sandbox: SandboxPages | undefined;
}

export const web: Feature<{ pages: WebParts }> = {
  name: 'web',
  pages(app, parts) {
    const { document, readiness, mode, db, secrets, networks, logger, publicUrl, shops, onRamps, sandbox } = parts;
    const context = addPages(app, { document, mode, readiness });
    addInvoicePage(app, { context, publicUrl, find: (token) => findPageView(db, token) });
    addPreviewPage(app, {
      context,
      find: (token) => findPreview(db, token),
      readPicture: (url, holder) => shops.pictures.read(url, holder),
      linkFor: (url) => sandbox?.linkFor(url) ?? url,
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
    if (sandbox?.onRamp !== undefined) addOnRampPage(app, { context, onRamp: sandbox.onRamp });
    addBotPage(app, context);
    addResetPage(app, context);
  },
};
