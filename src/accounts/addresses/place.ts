/** City, region and code from the end of an address, and the lines before them. */
export interface Place {
  readonly city: string | undefined;
  readonly region: string | undefined;
  readonly postalCode: string | undefined;
  readonly before: readonly string[];
}
