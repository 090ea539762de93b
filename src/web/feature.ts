import type { Feature } from '../feature.ts';
import { findPageView } from '../invoices/page-view.ts';
import type { SandboxShops } from '../sandbox/shop/open-shops.ts';
import { findPreview } from '../shopping/preview.ts';
import { addBotPage } from './bot-page.ts';
import { addInvoicePage } from './invoice-page.ts';
import { addPages } from './pages.ts';
import { addPreviewPage } from './preview-page.ts';

export const web: Feature<unknown, { readonly sandboxShops: SandboxShops | undefined }> = {
  name: 'web',
  pages(app, { document, mode, db, publicUrl, shops, sandboxShops }) {
    const context = addPages(app, { document, mode });
    addInvoicePage(app, { context, publicUrl, find: (token) => findPageView(db, token) });
    addPreviewPage(app, {
      context,
      find: (token) => findPreview(db, token),
      readPicture: (url) => shops.pictures.read(url),
      linkFor: (url) => sandboxShops?.linkFor(url) ?? url,
    });
    addBotPage(app, context);
  },
};
