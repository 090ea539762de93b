export interface Unproved {
  /** Null when the account has no email. */
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly pendingPhone?: string | null;
}

/** Says how to verify what is still unverified, in sentences for agents and people. Empty when everything is verified. */
export function nextSteps({ email, emailVerified, pendingPhone = null }: Unproved): string[] {
  const steps: string[] = [];
  if (email !== null && !emailVerified) {
    steps.push(
      `Verify your email: send the 6-digit code from our mail to ${email} to POST /account/email/verify, as {"code": "123456"}. If there is no mail, or its code has expired, POST /account/email/code sends a new one. Until then your handle finds your account, and this email does not.`,
    );
  }
  if (pendingPhone !== null) {
    steps.push(
      `Verify your phone number: send the 6-digit code from our SMS to ${pendingPhone} to POST /account/phone/verify, as {"code": "123456"}. POST /account/phone/code sends a new one. Until then this number does not find your account.`,
    );
  }
  return steps;
}
