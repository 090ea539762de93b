export interface Drawing {
  readonly form: Form;
  readonly colour: string;
  readonly accent: string;
  readonly pattern: Pattern;
}

export type Form =
  | 'mug'
  | 'cup'
  | 'teapot'
  | 'bowl'
  | 'plate'
  | 'board'
  | 'bottle'
  | 'glass'
  | 'cloth'
  | 'apron'
  | 'jar'
  | 'tin'
  | 'bag'
  | 'candle'
  | 'lamp'
  | 'lantern'
  | 'cushion'
  | 'basket'
  | 'vase'
  | 'planter'
  | 'clock'
  | 'notebook'
  | 'pencils'
  | 'ruler'
  | 'tote'
  | 'scarf'
  | 'shirt'
  | 'umbrella'
  | 'postcard';

type Pattern = 'plain' | 'band' | 'rim' | 'stripes' | 'dots' | 'checks';
