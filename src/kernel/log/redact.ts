/** Secrets and personal data that are recognisable by their form in any log text. */
const secretShapes: readonly (readonly [RegExp, string])[] = [
  [/pa_live_[0-9A-Za-z]+/g, 'pa_live_[redacted]'],
  [/pa_(access|refresh|code)_[\w.-]+/g, 'pa_$1_[redacted]'],
  [/\bBearer\s+[^\s"']+/gi, 'Bearer [redacted]'],
  [/\btoken=[^\s&"'<>]+/gi, 'token=[redacted]'],
  [/\bpwr_[0-9A-Za-z]+/g, 'pwr_[redacted]'],
  [/whsec_[0-9A-Za-z+/=]+/g, 'whsec_[redacted]'],
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '[email]'],
  [/\b0x[0-9a-fA-F]{64,}\b/g, '0x[redacted]'],
  [/\b(\w+):\/\/[^\s/@:]+:[^\s/@]+@/g, '$1://[redacted]@'],
  [/\+\d[\d ().-]{6,}\d/g, '[phone]'],
];

export function redactText(text: string): string {
  return secretShapes.reduce((clean, [shape, replacement]) => clean.replace(shape, replacement), text);
}
