import type { AnswerBytes } from '../../../parser/task.ts';
import { priceFromMinor, readCurrency } from '../../../shopping/price.ts';
import type { Candidate } from '../../../shopping/product.ts';
import { cleanCandidates } from '../../../shopping/reading/clean-candidate.ts';
import { parseJson, readJson, readText } from '../../../shopping/reading/read-answer.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

const mostProducts = 10;

/** Undefined when the catalog does not answer us. */
export function readCatalog({
  transport,
  ...answer
}: AnswerBytes & { readonly transport: 'rest' | 'mcp' }): Candidate[] | undefined {
  const { ucp, products } = fieldsOf(transport === 'rest' ? readJson(answer) : readToolResult(answer));
  if (textOf(fieldsOf(ucp)['status']) === 'error' || !Array.isArray(products)) return undefined;
  return cleanCandidates(listOf(products, mostProducts).map(fieldsOf).map(readProduct));
}

function readToolResult(answer: AnswerBytes): unknown {
  const { result, error } = fieldsOf(readRpc(answer));
  const { structuredContent, content, isError } = fieldsOf(result);
  if (error !== undefined || isError === true) return undefined;
  if (structuredContent !== undefined) return structuredContent;
  const [first] = listOf(content).map(fieldsOf);
  const text = first?.['text'];
  return typeof text === 'string' ? parseJson(text) : undefined;
}

/** The reply itself, or the event of a stream that holds it. */
function readRpc(answer: AnswerBytes): unknown {
  if (!/^text\/event-stream\b/i.test(answer.type)) return readJson(answer);
  const messages = readText(answer)
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5))
        .join('\n'),
    );
  return messages.map(parseJson).find((message) => 'result' in fieldsOf(message) || 'error' in fieldsOf(message));
}

/** The first variant is the one that the shop shows. The protocol has no brand; shops put it where they like. */
function readProduct(product: Fields): Candidate {
  const [variant = {}] = listOf(product['variants']).map(fieldsOf);
  const metadata = { ...fieldsOf(product['metadata']), ...fieldsOf(variant['metadata']) };
  const amount = priced(variant['price']) ?? priced(fieldsOf(product['price_range'])['min']);
  const [picture] = [...listOf(product['media']), ...listOf(variant['media'])]
    .map(fieldsOf)
    .filter(({ type, url }) => (type === undefined || type === 'image') && textOf(url) !== undefined);
  const availability = fieldsOf(variant['availability']);
  const handle = textOf(product['handle']);
  return {
    title: textOf(product['title']) ?? '',
    brand: textOf(metadata['brand']) ?? textOf(metadata['vendor']) ?? textOf(fieldsOf(variant['seller'])['name']),
    price: amount,
    url:
      textOf(product['url']) ??
      textOf(variant['url']) ??
      // Where Shopify, which leaves the address out for some, has its products.
      (handle === undefined ? undefined : `/products/${encodeURIComponent(handle.toWellFormed())}`),
    picture: picture && { url: textOf(picture['url']) ?? '', alt: textOf(picture['alt_text']) },
    id: textOf(product['id']),
    variantId: textOf(variant['id']),
    available: typeof availability['available'] === 'boolean' ? availability['available'] : undefined,
  };
}

function priced(value: unknown) {
  const { amount, currency } = fieldsOf(value);
  return priceFromMinor(amount, readCurrency(currency));
}
