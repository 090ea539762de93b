/** There is no room for more of this at the moment. Over HTTP it is 429 when the owner's share is used up, and 503 otherwise. */
export class NoPlace extends Error {
  override readonly name = 'NoPlace';
  readonly isOwnShare: boolean;
  readonly retryAfterSeconds = 5;

  private constructor(message: string, isOwnShare: boolean) {
    super(message);
    this.isOwnShare = isOwnShare;
  }

  static ofOwner({ what, kind, share }: { readonly what: string; readonly kind: string; readonly share: number }) {
    return new NoPlace(
      `At most ${share} ${what} are under way at once for one ${kind}, and yours has that many. Try again when one has ended.`,
      true,
    );
  }

  static inAll(what: string) {
    return new NoPlace(`Too many ${what} are under way. Try again in a moment.`, false);
  }
}
