/** An address in its parts, as somebody gives them: any may be missing, or be nothing of the kind. */
export interface AddressParts {
  readonly name?: string | undefined;
  readonly street?: string | undefined;
  /** Whatever else stands between street and city: a flat, a company, a village. */
  readonly extra?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly city?: string | undefined;
  readonly region?: string | undefined;
  /** A code of ISO 3166-1 or a name in English. */
  readonly country?: string | undefined;
  readonly phone?: string | undefined;
}
