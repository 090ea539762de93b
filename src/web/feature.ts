import type { Feature } from '../feature.ts';
import { findPageView } from '../invoices/page-view.ts';
import { addInvoicePage } from './invoice-page.ts';
import { addPages } from './pages.ts';

export const web: Feature = {
  name: 'web',
  pages(app, { document, mode, db, publicUrl }) {
    const context = addPages(app, { document, mode });
    addInvoicePage(app, { context, publicUrl, find: (token) => findPageView(db, token) });
  },
};
