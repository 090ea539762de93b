import type { Drawing } from './pictures/forms.ts';

/** Fields with a common default. */
export interface ProductExtras {
  readonly currency: 'USD' | 'EUR';
  /** Only heavy products have a shipping cost. */
  readonly shippingCents: number;
  readonly inStock: boolean;
  /** The sizes, if there is a choice. */
  readonly sizes: readonly { readonly label: string; readonly moreCents: number }[];
}

export interface CatalogRow {
  readonly title: string;
  readonly maker: string;
  readonly category: string;
  readonly cents: number;
  readonly description: string;
  readonly drawing: Drawing;
}

/** Title, maker, category, cents, and the drawing with its two colours; below it the description. */
const table = `
Stoneware Mug, Sea | Alder Pottery | Kitchen | 2400 | mug sea snow band
  Thrown by hand, glazed in two dips, and happy in the dishwasher.
Stoneware Mug, Clay | Alder Pottery | Kitchen | 2400 | mug clay sand band
  The same mug without a glaze outside: warm to look at and to hold.
Enamel Camp Mug | Fieldhand | Kitchen | 1650 | mug snow night rim
  Steel under two coats of enamel. It chips where it falls, and goes on.
Striped Breakfast Mug | Oda & Sons | Kitchen | 1999 | mug snow clay stripes
  Half a litre of tea before anybody speaks to you.
Speckled Espresso Cup | Alder Pottery | Kitchen | 1450 | cup sand ink dots
  Eighty millilitres, and a foot ring that does not scratch the table.
Teapot for Two | Oda & Sons | Kitchen | 5900 | teapot moss wood
  Pours without a drip, which is all one can ask of a teapot.
Serving Bowl, Wide | Alder Pottery | Kitchen | 4200 | bowl sea sand band
  For salad, for bread, for keys by the door.
Noodle Bowl | Oda & Sons | Kitchen | 2800 | bowl night snow stripes
  Deep enough for the broth and wide enough for the egg.
Dinner Plate, Oat | Alder Pottery | Kitchen | 2600 | plate sand clay band
  A plain plate with a rim that keeps the sauce where it is.
Dessert Plate, Rose | Alder Pottery | Kitchen | 1900 | plate rose snow dots
  Small, for a second slice that nobody has to know about.
Olive Wood Board | Fieldhand | Kitchen | 4800 | board wood sand stripes
  Cut from one piece and oiled twice. Every one has another grain.
Glass Carafe | Lumen Glass | Kitchen | 3400 | bottle #9cc3c4 wood
  A litre of water, a cork, and nothing else.
Tumblers, Set of Four | Lumen Glass | Kitchen | 3200 | glass #8fb9c2 snow stripes
  Blown into a mould of pear wood, so each has a slight twist.
Tea Towel, Checked | Loom Nine | Kitchen | 1400 | cloth snow clay checks
  Linen and cotton. Better after the tenth wash.
Apron, Indigo | Loom Nine | Kitchen | 3800 | apron night sand
  Two pockets: one for the spoon and one for the recipe.
Honey Jar | Harbour Farm | Pantry | 1150 | jar sun wood band
  Linden honey from the hives behind the lighthouse.
Blackberry Jam | Harbour Farm | Pantry | 950 | jar plum snow band
  Three parts fruit to one part sugar, and a little lemon.
Breakfast Tea, Loose | Oda & Sons | Pantry | 1290 | tin clay snow band
  Assam with a handful of Ceylon. Forgives being forgotten in the pot.
Jasmine Tea, Loose | Oda & Sons | Pantry | 1490 | tin moss snow dots
  Green tea that spent three nights beside the blossom.
House Coffee, Whole Bean | Fieldhand | Pantry | 1600 | bag ink sun band
  Roasted on Tuesdays, so ask for it on Wednesdays.
Beeswax Candle, Tall | Harbour Farm | Living | 1800 | candle sun snow
  Burns nine hours and smells of nothing but wax.
Pillar Candle, Sea Salt | Lumen Glass | Living | 2200 | candle #bcd0cf sea
  For a window sill in November.
Reading Lamp | Lumen Glass | Living | 8900 | lamp ink sun
  A joint that stays where it is put, and light for one page at a time.
Paper Lantern | Oda & Sons | Living | 3600 | lantern snow clay stripes
  Folds flat, opens to the size of a moon.
Linen Cushion, Moss | Loom Nine | Living | 4400 | cushion moss snow stripes
  Filled with wool, closed with three horn buttons.
Linen Cushion, Sun | Loom Nine | Living | 4400 | cushion sun snow dots
  The one that everybody takes first.
Wool Blanket, Harbour | Loom Nine | Living | 12900 | cloth sea snow stripes
  Woven on a narrow loom and sewn down the middle, as they used to be.
Willow Basket | Fieldhand | Living | 5200 | basket wood sand checks
  For logs, for toys, for the cat.
Bud Vase | Alder Pottery | Living | 2100 | vase rose snow
  One stem, and it looks as if you had meant it.
Tall Vase, Night | Alder Pottery | Living | 6400 | vase night sand band
  Heavy enough for branches in spring.
Terracotta Planter | Alder Pottery | Living | 3900 | planter clay moss
  Thick walls and a hole where a hole belongs. It is heavy, so shipping is extra.
Wall Clock, Quiet | Lumen Glass | Living | 7400 | clock snow ink
  Its hand sweeps and does not tick.
Pocket Notebook | Paper Tide | Desk | 850 | notebook sea snow band
  Sixty-four pages, sewn, and lies flat.
Squared Notebook, Large | Paper Tide | Desk | 1650 | notebook clay snow checks
  Paper that takes ink on both sides.
Cedar Pencils, Set of Six | Paper Tide | Desk | 900 | pencils sun ink
  Two soft, two hard, two in between.
Brass Ruler | Paper Tide | Desk | 2300 | ruler #c79a4b ink
  Fifteen centimetres of one side, six inches of the other.
Canvas Tote | Fieldhand | Out and about | 2900 | tote sand sea band
  Carries a week of bread, or three library books.
Lambswool Scarf | Loom Nine | Out and about | 6800 | scarf plum sand stripes
  Long enough to share.
Umbrella, Oak Handle | Fieldhand | Out and about | 5600 | umbrella night wood
  Eight ribs, mended free of charge for as long as we are here.
Steel Water Bottle | Fieldhand | Out and about | 3100 | bottle moss ink band
  Cold for a day, hot for half of one.
Postcard from Lisbon | Paper Tide | Desk | 450 | postcard sea sun
  Printed in Lisbon and priced in euros, as we buy it.
Linen Shirt | Loom Nine | Out and about | 3000 | shirt snow sea stripes
  Washed soft, with buttons of shell. The larger ones take more cloth.
`;

const extras: Readonly<Record<string, Partial<ProductExtras>>> = {
  'Terracotta Planter': { shippingCents: 1250 },
  'Umbrella, Oak Handle': { inStock: false },
  'Postcard from Lisbon': { currency: 'EUR' },
  'Linen Shirt': {
    sizes: [
      { label: 'S', moreCents: 0 },
      { label: 'M', moreCents: 500 },
      { label: 'L', moreCents: 900 },
    ],
  },
};

const colours: Readonly<Record<string, string>> = {
  ink: '#2d3a3a',
  clay: '#c8714d',
  sand: '#e3c9a1',
  sea: '#3f7f93',
  moss: '#6f8f5a',
  sun: '#e6b04a',
  rose: '#d58a8f',
  plum: '#7a5573',
  snow: '#f4efe6',
  night: '#33415e',
  wood: '#a9764a',
};

/** The demo shop's products. The position determines the id, so append new ones. */
export const catalogRows: readonly (CatalogRow & Partial<ProductExtras>)[] = Array.from(
  table.matchAll(/^(\S.*)\n {2}(.+)$/gm),
  ([, facts = '', description = '']) => {
    const [title = '', maker = '', category = '', cents, drawing = ''] = facts.split(' | ');
    const [form, colour = '', accent = '', pattern = 'plain'] = drawing.split(' ');
    return {
      title,
      maker,
      category,
      cents: Number(cents),
      description,
      drawing: { form, colour: colours[colour] ?? colour, accent: colours[accent] ?? accent, pattern } as Drawing,
      ...extras[title],
    };
  },
);
