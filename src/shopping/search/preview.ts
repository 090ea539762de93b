import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { deleteInChunks } from '../../kernel/db/delete-in-chunks.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { randomBase62 } from '../../kernel/ids/ids.ts';
import type { Product } from './product.ts';

/** Letters and digits of an address that nobody guesses: 142 bits. */
const tokenLength = 24;
const keptHours = 24;

/** What the preview of a search shows to whoever has its address. Who has searched is not in it. */
export interface Preview {
  readonly website: string;
  readonly query: string;
  readonly products: readonly PreviewProduct[];
}

export type PreviewProduct = Pick<Product, 'title' | 'brand' | 'url' | 'picture' | 'available'> & {
  readonly price: string;
  /** What it is sold in, with prices, where the buyer has to choose. */
  readonly choices?: string | undefined;
};

export interface NewPreview {
  readonly website: string;
  readonly query: string;
  readonly products: readonly Product[];
  /** Whose searches it is counted among; undefined when the search was paid for. */
  readonly searcher: Caller | undefined;
}

/** Keeps what was found, and answers the token of its page. */
export async function createPreview(db: Database, { website, query, products, searcher }: NewPreview): Promise<string> {
  const token = randomBase62(tokenLength);
  const shown = products.map(
    (product): PreviewProduct => ({
      title: product.title,
      brand: product.brand,
      price: product.price.text,
      url: product.url,
      picture: product.picture,
      available: product.available,
      choices: describeChoices(product),
    }),
  );
  await db.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO shopping_previews (token, website, query, products, expires_at)
       VALUES ($1, $2, $3, $4, now() + make_interval(hours => $5))`,
      [token, website, query, JSON.stringify(shown), keptHours],
    );
    if (searcher !== undefined) await countToday(tx, searcher, 'searches');
  });
  return token;
}

const mostChoices = 6;

function describeChoices({ variants, moreVariants }: Product): string | undefined {
  if (variants.length < 2) return moreVariants ? 'Comes in several variants' : undefined;
  const named = variants.slice(0, mostChoices).map(({ title, price }) => `${title} ${price.text}`);
  const rest = moreVariants || variants.length > mostChoices ? ['and more'] : [];
  return [...named, ...rest].join(' · ');
}

export async function findPreview(db: Queryable, token: string): Promise<Preview | undefined> {
  if (token.length !== tokenLength || !/^[0-9A-Za-z]+$/.test(token)) return undefined;
  const { rows } = await db.query<Preview>(
    'SELECT website, query, products FROM shopping_previews WHERE token = $1 AND expires_at > now()',
    [token],
  );
  return rows[0];
}

/** Those that nobody can open any more. */
export async function forgetPreviews(db: Queryable): Promise<void> {
  // Each row may hold 25 KB, most of it out of line.
  await deleteInChunks(db, { table: 'shopping_previews', where: 'expires_at <= now()', atOnce: 1_000 });
}
