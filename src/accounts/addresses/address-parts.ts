/** City, region and code from the end of an address, and the lines before them. */
export interface Place {
  readonly city: string | undefined;
  readonly region: string | undefined;
  readonly postalCode: string | undefined;
  readonly before: readonly string[];
}

/** An address in parts, as a caller gives them: any may be missing or wrong. */
export interface AddressParts {
  readonly name?: string | undefined;
  readonly street?: string | undefined;
  /** Lines between street and city: a flat, a company, a village. */
  readonly extra?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly city?: string | undefined;
  readonly region?: string | undefined;
  /** An ISO 3166-1 code or an English name. */
  readonly country?: string | undefined;
  readonly phone?: string | undefined;
}
