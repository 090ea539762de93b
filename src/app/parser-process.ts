import { serveTasks } from '../kernel/parser/serve-tasks.ts';
import { readCheckoutReply } from '../shopping/adapters/reading/checkout-reply.ts';
import { readFrontPage, readPageCurrency, readProductPage, readResults } from '../shopping/adapters/reading/pages.ts';
import { readCartCurrency, readShopifyVariants, readSuggestions } from '../shopping/adapters/reading/shopify.ts';
import { readCatalog } from '../shopping/adapters/reading/ucp-catalog.ts';
import { readStoreProducts, readStoreVariations } from '../shopping/adapters/reading/woocommerce.ts';
import { readProof } from '../shopping/merchants/reading/read-proof.ts';
import { readOrderAnswer } from '../shopping/orders/reading/read-order-answer.ts';
import { readPictureHeader } from '../shopping/search/reading/picture-header.ts';
import { readSmallJson } from '../shopping/search/reading/read-answer.ts';
import { mayRead, readRobots } from '../shopping/search/reading/robots.ts';

/** All code that parses third-party content. It runs only in this process. */
serveTasks({
  mayRead,
  readCartCurrency,
  readCatalog,
  readCheckoutReply,
  readFrontPage,
  readOrderAnswer,
  readPageCurrency,
  readPictureHeader,
  readProductPage,
  readProof,
  readResults,
  readRobots,
  readShopifyVariants,
  readSmallJson,
  readStoreProducts,
  readStoreVariations,
  readSuggestions,
});
