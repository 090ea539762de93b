import { taskOf } from '../../kernel/parser/task.ts';
import type * as checkout from './reading/checkout-reply.ts';
import type * as pages from './reading/pages.ts';
import type * as shopify from './reading/shopify.ts';
import type * as ucp from './reading/ucp-catalog.ts';
import type * as woocommerce from './reading/woocommerce.ts';

export type { FrontPage, Results } from './reading/pages.ts';
export type { StoreProduct, StoreProducts } from './reading/woocommerce.ts';

/** Parser tasks of the adapters. Only the parser process loads the functions themselves, from `reading/`. */
export const readFrontPage = taskOf<typeof pages.readFrontPage>('readFrontPage');
export const readResults = taskOf<typeof pages.readResults>('readResults');
export const readProductPage = taskOf<typeof pages.readProductPage>('readProductPage');
export const readPageCurrency = taskOf<typeof pages.readPageCurrency>('readPageCurrency');
export const readSuggestions = taskOf<typeof shopify.readSuggestions>('readSuggestions');
export const readShopifyVariants = taskOf<typeof shopify.readShopifyVariants>('readShopifyVariants');
export const readCartCurrency = taskOf<typeof shopify.readCartCurrency>('readCartCurrency');
export const readStoreProducts = taskOf<typeof woocommerce.readStoreProducts>('readStoreProducts');
export const readStoreVariations = taskOf<typeof woocommerce.readStoreVariations>('readStoreVariations');
export const readCatalog = taskOf<typeof ucp.readCatalog>('readCatalog');
export const readCheckoutReply = taskOf<typeof checkout.readCheckoutReply>('readCheckoutReply');
