import type { ShopProduct } from './catalog.ts';

export function priceText({ cents, currency }: Pick<ShopProduct, 'cents' | 'currency'>): string {
  return `${currency === 'USD' ? '$' : '€'}${(cents / 100).toFixed(2)}`;
}

export const productPath = ({ slug }: Pick<ShopProduct, 'slug'>) => `/products/${slug}`;
export const picturePath = ({ slug }: Pick<ShopProduct, 'slug'>) => `/pictures/${slug}.png`;
