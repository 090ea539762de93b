/** An order at the demo shop, as `POST /shopping/buy` takes it. */
export const mug = {
  website: 'demo-shop.example',
  productTitle: 'Stoneware Mug, Sea',
  productBrand: 'Alder Pottery',
  amount: 24,
  paymentMethod: 'usdc',
  shippingAddress: 'Ada, 1 Main St, 94105 San Francisco, US',
};
