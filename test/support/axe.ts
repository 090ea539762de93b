import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What axe would mend on a page: everything, or in a second look at the same page in other colours only those. It is brought
 * from outside of the page, whose policy lets no foreign script in.
 */
export async function violations(page: Page, look: 'everything' | 'colours'): Promise<string[]> {
  await page.evaluate(axe);
  const options = { resultTypes: ['violations'], ...(look === 'colours' && { runOnly: ['color-contrast'] }) };
  return page.evaluate<string[]>(`
    axe.run(${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))
  `);
}
