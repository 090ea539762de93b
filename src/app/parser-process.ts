import { readProof } from '../merchants/reading/read-proof.ts';
import { readOrderAnswer } from '../orders/reading/read-order-answer.ts';
import { serveTasks } from '../parser/serve-tasks.ts';
import { readCheckoutReply } from '../providers/merchants/reading/checkout-reply.ts';
import { readFrontPage, readPageCurrency, readProductPage, readResults } from '../providers/merchants/reading/pages.ts';
import { readCartCurrency, readShopifyVariants, readSuggestions } from '../providers/merchants/reading/shopify.ts';
import { readCatalog } from '../providers/merchants/reading/ucp-catalog.ts';
import { readStoreProducts, readStoreVariations } from '../providers/merchants/reading/woocommerce.ts';
import { readPictureHeader } from '../shopping/reading/picture-header.ts';
import { readSmallJson } from '../shopping/reading/read-answer.ts';
import { mayRead, readRobots } from '../shopping/reading/robots.ts';

/** Everything that reads what strangers send. It runs here and nowhere else. */
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
