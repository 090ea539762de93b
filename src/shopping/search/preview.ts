import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { deleteInChunks } from '../../kernel/db/delete-in-chunks.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { randomBase62 } from '../../kernel/ids/ids.ts';
import type { Product } from './product.ts';

/** 24 base62 characters hold 142 bits, so a token cannot be guessed. */
const tokenLength = 24;
const keptHours = 24;

/** Anyone with the URL can read a preview, so it does not say who searched. */
export interface Preview {
  readonly website: string;
  readonly query: string;
  readonly products: readonly PreviewProduct[];
}

export type PreviewProduct = Pick<Product, 'title' | 'brand' | 'url' | 'picture' | 'available'> & {
  readonly price: string;
  /** The variants with their prices, if the buyer has to choose. */
  readonly choices?: string | undefined;
};

export interface NewPreview {
  readonly website: string;
  readonly query: string;
  readonly products: readonly Product[];
  /** The account whose daily cap counts this search; undefined for a paid search. */
  readonly searcher: Caller | undefined;
}

/** Stores the search results and returns the token of their page. */
export async function createPreview(db: Database, { website, query, products, searcher }: NewPreview): Promise<string> {
  const token = randomBase62(tokenLength);
  const shown = products.map((product): PreviewProduct => {
    const { title, brand, url, picture, available, price } = product;
    return { title, brand, price: price.text, url, picture, available, choices: describeChoices(product) };
  });
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

export async function forgetPreviews(db: Queryable): Promise<void> {
  // Each row can hold 25 KB, most of it in TOAST storage.
  await deleteInChunks(db, { table: 'shopping_previews', where: 'expires_at <= now()', atOnce: 1_000 });
}
