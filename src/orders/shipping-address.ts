/** What an order knows of addresses; the rest of it is in the room where they are read. */
export { normalizeAddress, type ShippingAddress } from '../addresses/shipping-address.ts';
