/** Where in its country: what stands at the end of an address, and what stands before that. */
export interface Place {
  readonly city: string | undefined;
  readonly region: string | undefined;
  readonly postalCode: string | undefined;
  readonly before: readonly string[];
}
