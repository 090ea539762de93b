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

type CatalogRow = readonly [
  title: string,
  maker: string,
  category: string,
  cents: number,
  description: string,
  drawing: Drawing,
  more?: Partial<ProductExtras>,
];

const ink = '#2d3a3a';
const clay = '#c8714d';
const sand = '#e3c9a1';
const sea = '#3f7f93';
const moss = '#6f8f5a';
const sun = '#e6b04a';
const rose = '#d58a8f';
const plum = '#7a5573';
const snow = '#f4efe6';
const night = '#33415e';
const wood = '#a9764a';

const draw = (form: Drawing['form'], colour: string, accent: string, pattern: Drawing['pattern'] = 'plain') => ({
  form,
  colour,
  accent,
  pattern,
});

/** The demo shop's products. The position determines the id, so append new ones. */
export const catalogRows: readonly CatalogRow[] = [
  [
    'Stoneware Mug, Sea',
    'Alder Pottery',
    'Kitchen',
    2400,
    'Thrown by hand, glazed in two dips, and happy in the dishwasher.',
    draw('mug', sea, snow, 'band'),
  ],
  [
    'Stoneware Mug, Clay',
    'Alder Pottery',
    'Kitchen',
    2400,
    'The same mug without a glaze outside: warm to look at and to hold.',
    draw('mug', clay, sand, 'band'),
  ],
  [
    'Enamel Camp Mug',
    'Fieldhand',
    'Kitchen',
    1650,
    'Steel under two coats of enamel. It chips where it falls, and goes on.',
    draw('mug', snow, night, 'rim'),
  ],
  [
    'Striped Breakfast Mug',
    'Oda & Sons',
    'Kitchen',
    1999,
    'Half a litre of tea before anybody speaks to you.',
    draw('mug', snow, clay, 'stripes'),
  ],
  [
    'Speckled Espresso Cup',
    'Alder Pottery',
    'Kitchen',
    1450,
    'Eighty millilitres, and a foot ring that does not scratch the table.',
    draw('cup', sand, ink, 'dots'),
  ],
  [
    'Teapot for Two',
    'Oda & Sons',
    'Kitchen',
    5900,
    'Pours without a drip, which is all one can ask of a teapot.',
    draw('teapot', moss, wood),
  ],
  [
    'Serving Bowl, Wide',
    'Alder Pottery',
    'Kitchen',
    4200,
    'For salad, for bread, for keys by the door.',
    draw('bowl', sea, sand, 'band'),
  ],
  [
    'Noodle Bowl',
    'Oda & Sons',
    'Kitchen',
    2800,
    'Deep enough for the broth and wide enough for the egg.',
    draw('bowl', night, snow, 'stripes'),
  ],
  [
    'Dinner Plate, Oat',
    'Alder Pottery',
    'Kitchen',
    2600,
    'A plain plate with a rim that keeps the sauce where it is.',
    draw('plate', sand, clay, 'band'),
  ],
  [
    'Dessert Plate, Rose',
    'Alder Pottery',
    'Kitchen',
    1900,
    'Small, for a second slice that nobody has to know about.',
    draw('plate', rose, snow, 'dots'),
  ],
  [
    'Olive Wood Board',
    'Fieldhand',
    'Kitchen',
    4800,
    'Cut from one piece and oiled twice. Every one has another grain.',
    draw('board', wood, sand, 'stripes'),
  ],
  [
    'Glass Carafe',
    'Lumen Glass',
    'Kitchen',
    3400,
    'A litre of water, a cork, and nothing else.',
    draw('bottle', '#9cc3c4', wood),
  ],
  [
    'Tumblers, Set of Four',
    'Lumen Glass',
    'Kitchen',
    3200,
    'Blown into a mould of pear wood, so each has a slight twist.',
    draw('glass', '#8fb9c2', snow, 'stripes'),
  ],
  [
    'Tea Towel, Checked',
    'Loom Nine',
    'Kitchen',
    1400,
    'Linen and cotton. Better after the tenth wash.',
    draw('cloth', snow, clay, 'checks'),
  ],
  [
    'Apron, Indigo',
    'Loom Nine',
    'Kitchen',
    3800,
    'Two pockets: one for the spoon and one for the recipe.',
    draw('apron', night, sand),
  ],
  [
    'Honey Jar',
    'Harbour Farm',
    'Pantry',
    1150,
    'Linden honey from the hives behind the lighthouse.',
    draw('jar', sun, wood, 'band'),
  ],
  [
    'Blackberry Jam',
    'Harbour Farm',
    'Pantry',
    950,
    'Three parts fruit to one part sugar, and a little lemon.',
    draw('jar', plum, snow, 'band'),
  ],
  [
    'Breakfast Tea, Loose',
    'Oda & Sons',
    'Pantry',
    1290,
    'Assam with a handful of Ceylon. Forgives being forgotten in the pot.',
    draw('tin', clay, snow, 'band'),
  ],
  [
    'Jasmine Tea, Loose',
    'Oda & Sons',
    'Pantry',
    1490,
    'Green tea that spent three nights beside the blossom.',
    draw('tin', moss, snow, 'dots'),
  ],
  [
    'House Coffee, Whole Bean',
    'Fieldhand',
    'Pantry',
    1600,
    'Roasted on Tuesdays, so ask for it on Wednesdays.',
    draw('bag', ink, sun, 'band'),
  ],
  [
    'Beeswax Candle, Tall',
    'Harbour Farm',
    'Living',
    1800,
    'Burns nine hours and smells of nothing but wax.',
    draw('candle', sun, snow),
  ],
  [
    'Pillar Candle, Sea Salt',
    'Lumen Glass',
    'Living',
    2200,
    'For a window sill in November.',
    draw('candle', '#bcd0cf', sea),
  ],
  [
    'Reading Lamp',
    'Lumen Glass',
    'Living',
    8900,
    'A joint that stays where it is put, and light for one page at a time.',
    draw('lamp', ink, sun),
  ],
  [
    'Paper Lantern',
    'Oda & Sons',
    'Living',
    3600,
    'Folds flat, opens to the size of a moon.',
    draw('lantern', snow, clay, 'stripes'),
  ],
  [
    'Linen Cushion, Moss',
    'Loom Nine',
    'Living',
    4400,
    'Filled with wool, closed with three horn buttons.',
    draw('cushion', moss, snow, 'stripes'),
  ],
  [
    'Linen Cushion, Sun',
    'Loom Nine',
    'Living',
    4400,
    'The one that everybody takes first.',
    draw('cushion', sun, snow, 'dots'),
  ],
  [
    'Wool Blanket, Harbour',
    'Loom Nine',
    'Living',
    12900,
    'Woven on a narrow loom and sewn down the middle, as they used to be.',
    draw('cloth', sea, snow, 'stripes'),
  ],
  [
    'Willow Basket',
    'Fieldhand',
    'Living',
    5200,
    'For logs, for toys, for the cat.',
    draw('basket', wood, sand, 'checks'),
  ],
  [
    'Bud Vase',
    'Alder Pottery',
    'Living',
    2100,
    'One stem, and it looks as if you had meant it.',
    draw('vase', rose, snow),
  ],
  [
    'Tall Vase, Night',
    'Alder Pottery',
    'Living',
    6400,
    'Heavy enough for branches in spring.',
    draw('vase', night, sand, 'band'),
  ],
  [
    'Terracotta Planter',
    'Alder Pottery',
    'Living',
    3900,
    'Thick walls and a hole where a hole belongs. It is heavy, so shipping is extra.',
    draw('planter', clay, moss),
    { shippingCents: 1250 },
  ],
  ['Wall Clock, Quiet', 'Lumen Glass', 'Living', 7400, 'Its hand sweeps and does not tick.', draw('clock', snow, ink)],
  [
    'Pocket Notebook',
    'Paper Tide',
    'Desk',
    850,
    'Sixty-four pages, sewn, and lies flat.',
    draw('notebook', sea, snow, 'band'),
  ],
  [
    'Squared Notebook, Large',
    'Paper Tide',
    'Desk',
    1650,
    'Paper that takes ink on both sides.',
    draw('notebook', clay, snow, 'checks'),
  ],
  [
    'Cedar Pencils, Set of Six',
    'Paper Tide',
    'Desk',
    900,
    'Two soft, two hard, two in between.',
    draw('pencils', sun, ink),
  ],
  [
    'Brass Ruler',
    'Paper Tide',
    'Desk',
    2300,
    'Fifteen centimetres of one side, six inches of the other.',
    draw('ruler', '#c79a4b', ink),
  ],
  [
    'Canvas Tote',
    'Fieldhand',
    'Out and about',
    2900,
    'Carries a week of bread, or three library books.',
    draw('tote', sand, sea, 'band'),
  ],
  [
    'Lambswool Scarf',
    'Loom Nine',
    'Out and about',
    6800,
    'Long enough to share.',
    draw('scarf', plum, sand, 'stripes'),
  ],
  [
    'Umbrella, Oak Handle',
    'Fieldhand',
    'Out and about',
    5600,
    'Eight ribs, mended free of charge for as long as we are here.',
    draw('umbrella', night, wood),
    { inStock: false },
  ],
  [
    'Steel Water Bottle',
    'Fieldhand',
    'Out and about',
    3100,
    'Cold for a day, hot for half of one.',
    draw('bottle', moss, ink, 'band'),
  ],
  [
    'Postcard from Lisbon',
    'Paper Tide',
    'Desk',
    450,
    'Printed in Lisbon and priced in euros, as we buy it.',
    draw('postcard', sea, sun),
    { currency: 'EUR' },
  ],
  [
    'Linen Shirt',
    'Loom Nine',
    'Out and about',
    3000,
    'Washed soft, with buttons of shell. The larger ones take more cloth.',
    draw('shirt', snow, sea, 'stripes'),
    {
      sizes: [
        { label: 'S', moreCents: 0 },
        { label: 'M', moreCents: 500 },
        { label: 'L', moreCents: 900 },
      ],
    },
  ],
];
