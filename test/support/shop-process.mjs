// Runs the built demo shop in a process of its own, which can be killed.

import { openShops } from '../../dist/sandbox/shop/open-shops.js';
import { createLogger } from '../../dist/src/kernel/log/logger.js';

const { DATA_DIR: dataDir, PUBLIC_URL } = process.env;
const { demoShop } = await openShops({ logger: createLogger('error'), publicUrl: () => PUBLIC_URL, dataDir });
process.stdout.write(`${demoShop.url}\n`);
