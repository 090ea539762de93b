import type { AnswerBytes } from '../../../kernel/parser/task.ts';
import { priceFromMinor, readCurrency } from '../../search/price.ts';
import type { Candidate, ProductOption, Variant } from '../../search/product.ts';
import { cleanCandidates, variantsToRead } from '../../search/reading/clean-candidate.ts';
import { parseJson, readJson, readText } from '../../search/reading/read-answer.ts';
import { booleanOf, type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

const mostProducts = 10;

/** Undefined if the catalog refuses us or returns an error. */
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

/** The JSON-RPC response, either plain or in an event stream. */
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

/** Shops list their featured variant first. UCP has no brand field; shops use different ones. */
function readProduct(product: Fields): Candidate {
  const named = listOf(product['variants'], variantsToRead).map(fieldsOf);
  const [variant = {}] = named;
  const variants = named.flatMap(readVariant);
  const metadata = { ...fieldsOf(product['metadata']), ...fieldsOf(variant['metadata']) };
  const amount = priced(variant['price']) ?? priced(fieldsOf(product['price_range'])['min']);
  const [picture] = [...listOf(product['media']), ...listOf(variant['media'])]
    .map(fieldsOf)
    .filter(({ type, url }) => (type === undefined || type === 'image') && textOf(url) !== undefined);
  const handle = textOf(product['handle']);
  return {
    title: textOf(product['title']) ?? '',
    brand: textOf(metadata['brand']) ?? textOf(metadata['vendor']) ?? textOf(fieldsOf(variant['seller'])['name']),
    price: amount,
    url:
      textOf(product['url']) ??
      textOf(variant['url']) ??
      // Shopify omits some URLs; its product pages are at this path.
      (handle === undefined ? undefined : `/products/${encodeURIComponent(handle.toWellFormed())}`),
    picture: picture && { url: textOf(picture['url']) ?? '', alt: textOf(picture['alt_text']) },
    id: textOf(product['id']),
    available: readAvailable(variant),
    variants,
    moreVariants: variants.length < named.length || namesFewerThanOffered(product, variants),
  };
}

function readVariant(variant: Fields): Variant[] {
  const [id, price] = [textOf(variant['id']), priced(variant['price'])];
  if (id === undefined || price === undefined) return [];
  const options = listOf(variant['options']).flatMap(readOption);
  return [{ id, title: textOf(variant['title']) ?? '', options, price, available: readAvailable(variant) }];
}

function readOption(option: unknown): ProductOption[] {
  const { name, label, value } = fieldsOf(option);
  const [title, choice] = [textOf(name), textOf(label) ?? textOf(value)];
  return title === undefined || choice === undefined ? [] : [{ name: title, value: choice }];
}

function readAvailable(variant: Fields): boolean | undefined {
  return booleanOf(fieldsOf(variant['availability'])['available']);
}

/** Some shops list only the variants that they feature. The product's options or price range then show that there are more. */
function namesFewerThanOffered(product: Fields, variants: readonly Variant[]): boolean {
  const named = new Set(variants.flatMap(({ options }) => options.map(({ value }) => value)));
  const offered = listOf(product['options']).flatMap((option) => listOf(fieldsOf(option)['values'], variantsToRead));
  const labels = offered.flatMap((value) => textOf(fieldsOf(value)['label']) ?? []);
  if (labels.length > 1 && labels.some((label) => !named.has(label))) return true;
  const { min, max } = fieldsOf(product['price_range']);
  return [priced(min), priced(max)].some(
    (end) => end !== undefined && !variants.some(({ price }) => price.text === end.text && price.atomic === end.atomic),
  );
}

function priced(value: unknown) {
  const { amount, currency } = fieldsOf(value);
  return priceFromMinor(amount, readCurrency(currency));
}
