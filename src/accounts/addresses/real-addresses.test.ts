import { describe, expect, it } from 'vitest';
import { readShippingAddress, requireAddress } from './shipping-address.ts';

/** As `name / street / extra / postal code / city / region / country`; a dash where there is none. */
function summarize(text: string): string {
  const { address, missing } = readShippingAddress(text, { name: 'Owner' });
  if (address === undefined) return `missing ${missing.join(', ')}`;
  const { name, street, extra, postalCode, city, region, country } = address;
  return [name, street, extra, postalCode, city, region, country].map((part) => part ?? '-').join(' / ');
}

describe('addresses as people write them', () => {
  it.each([
    // The United States, with and without name and country.
    [
      '1600 Amphitheatre Parkway, Mountain View, CA 94043',
      'Owner / 1600 Amphitheatre Parkway / - / 94043 / Mountain View / CA / US',
    ],
    [
      'Ada Lovelace, 1600 Amphitheatre Pkwy, Mountain View, CA 94043',
      'Ada Lovelace / 1600 Amphitheatre Pkwy / - / 94043 / Mountain View / CA / US',
    ],
    [
      'Ada Lovelace\n1 Main St\nApt 4B\nBrooklyn NY 11201-1234',
      'Ada Lovelace / 1 Main St / Apt 4B / 11201-1234 / Brooklyn / NY / US',
    ],
    ['350 5th Ave, New York, NY 10118', 'Owner / 350 5th Ave / - / 10118 / New York / NY / US'],
    ['233 S Wacker Dr, Chicago, IL 60606', 'Owner / 233 S Wacker Dr / - / 60606 / Chicago / IL / US'],
    ['1 Main St, Wilmington, DE 19801', 'Owner / 1 Main St / - / 19801 / Wilmington / DE / US'],
    ['10 Peachtree St NE, Atlanta, Georgia 30303', 'Owner / 10 Peachtree St NE / - / 30303 / Atlanta / GA / US'],
    ['1 Main St, 94105 San Francisco, California', 'Owner / 1 Main St / - / 94105 / San Francisco / CA / US'],
    ['Jane, 100 Beale St, Memphis, TN 38103', 'Jane / 100 Beale St / - / 38103 / Memphis / TN / US'],
    ['Jane, 100 Beale St, Memphis, TN, 38103', 'Jane / 100 Beale St / - / 38103 / Memphis / TN / US'],
    ['Jane, 1 Calle Luna, San Juan 00901, PR', 'Jane / 1 Calle Luna / - / 00901 / San Juan / - / PR'],
    ['Jane Doe, 200 N Main St, Boise, ID 83702', 'Jane Doe / 200 N Main St / - / 83702 / Boise / ID / US'],
    [
      'Acme, Inc., 1 Main St, Suite 200, Austin, TX 78701, U.S.A.',
      'Acme, Inc. / 1 Main St / Suite 200 / 78701 / Austin / TX / US',
    ],
    [
      'Jane Doe, Acme, Inc., 1 Main St, Austin, TX 78701',
      'Jane Doe / 1 Main St / Acme, Inc. / 78701 / Austin / TX / US',
    ],
    ['John Smith, Jr., 1 Main St, Denver, CO 80202', 'John Smith, Jr. / 1 Main St / - / 80202 / Denver / CO / US'],
    [
      '3M Company, 2501 Hudson Rd, Maplewood, MN 55144',
      '3M Company / 2501 Hudson Rd / - / 55144 / Maplewood / MN / US',
    ],
    [
      'Attn: Jane Doe, Acme Corp, 1 Main St, Austin, TX 78701',
      'Jane Doe / 1 Main St / Acme Corp / 78701 / Austin / TX / US',
    ],
    ['Diane Lane, 5 Elm St, Salem, OR 97301', 'Diane Lane / 5 Elm St / - / 97301 / Salem / OR / US'],
    ['PO Box 123, Springfield, IL 62701', 'Owner / PO Box 123 / - / 62701 / Springfield / IL / US'],
    ['Calle Loíza 100, San Juan, PR 00911', 'Owner / Calle Loíza 100 / - / 00911 / San Juan / PR / US'],
    [
      'Name: Ada Lovelace\nStreet: 1 Main St\nCity: San Francisco\nState: CA\nZIP: 94105\nCountry: United States',
      'Ada Lovelace / 1 Main St / - / 94105 / San Francisco / CA / US',
    ],
    [
      'Ship to: Ada, 1 Main St, San Francisco, CA 94105, (415) 555-0123, ada@example.com',
      'Ada / 1 Main St / - / 94105 / San Francisco / CA / US',
    ],
    // People, and no houses.
    ['Jane Hill, 5 Elm St, Salem, OR 97301', 'Jane Hill / 5 Elm St / - / 97301 / Salem / OR / US'],
    ['Tom Wood, 5 Elm St, Salem, OR 97301', 'Tom Wood / 5 Elm St / - / 97301 / Salem / OR / US'],
    ['Roland, 5 Elm St, Salem, OR 97301', 'Roland / 5 Elm St / - / 97301 / Salem / OR / US'],
    ['Jane, Hilltop, 5 Elm St, Salem, OR 97301', 'Jane / 5 Elm St / Hilltop / 97301 / Salem / OR / US'],
    // Canada.
    ['290 Bremner Blvd, Toronto, ON M5V 2T6', 'Owner / 290 Bremner Blvd / - / M5V 2T6 / Toronto / ON / CA'],
    [
      'Ada\n1000 Rue Sherbrooke O\nMontréal QC H3A 3G4\nCanada',
      'Ada / 1000 Rue Sherbrooke O / - / H3A 3G4 / Montréal / QC / CA',
    ],
    // The country before the code.
    ['Jane, 1 King St, Toronto, Canada M5V 2T6', 'Jane / 1 King St / - / M5V 2T6 / Toronto / - / CA'],
    ['Jane, 1 King St, Toronto, ON, Canada M5V 2T6', 'Jane / 1 King St / - / M5V 2T6 / Toronto / ON / CA'],
    ['Jane, 1 Main St, Vancouver, BC, CA V5K 0A1', 'Jane / 1 Main St / - / V5K 0A1 / Vancouver / BC / CA'],
    ['Jane, 1 King St, Toronto, Canada, M5V 2T6', 'Jane / 1 King St / - / M5V 2T6 / Toronto / - / CA'],
    ['Jane, 1 Main St, London, UK SW1A 1AA', 'Jane / 1 Main St / - / SW1A 1AA / London / - / GB'],
    ['Jane, 1 Main St, London, UK, SW1A 1AA', 'Jane / 1 Main St / - / SW1A 1AA / London / - / GB'],
    ['Jane, 1 Main St, London UK SW1A 1AA', 'Jane / 1 Main St / - / SW1A 1AA / London / - / GB'],
    ['Jane, 1 Main St, London, England SW1A 1AA', 'Jane / 1 Main St / - / SW1A 1AA / London / - / GB'],
    ['Jane, 1 Main St, London, England SW1A 1AA, UK', 'Jane / 1 Main St / - / SW1A 1AA / London / - / GB'],
    ['Jane, 1 Main St, London, England, SW1A 1AA, UK', 'Jane / 1 Main St / - / SW1A 1AA / London / - / GB'],
    ['Jane, 1 Main St, London, SW1A 1AA, England, UK', 'Jane / 1 Main St / - / SW1A 1AA / London / - / GB'],
    ['Jane, 1 Royal Mile, Edinburgh, Scotland EH1 1AA', 'Jane / 1 Royal Mile / - / EH1 1AA / Edinburgh / - / GB'],
    ['Jane, 1 Castle St, Cardiff, Wales CF10 1AA', 'Jane / 1 Castle St / - / CF10 1AA / Cardiff / - / GB'],
    ['Jane, 1 Ann St, Belfast, Northern Ireland BT1 1AA', 'Jane / 1 Ann St / - / BT1 1AA / Belfast / - / GB'],
    ['Jane, Damrak 1, Amsterdam, NL 1012 LG', 'Jane / Damrak 1 / - / 1012 LG / Amsterdam / - / NL'],
    ['Jane, Hauptstr. 5, Berlin, Germany 10115', 'Jane / Hauptstr. 5 / - / 10115 / Berlin / - / DE'],
    ['Jane, 1 Cerrillos Rd, Santa Fe, New Mexico 87501', 'Jane / 1 Cerrillos Rd / - / 87501 / Santa Fe / NM / US'],
    // Australia.
    ['1 George St, Sydney NSW 2000', 'Owner / 1 George St / - / 2000 / Sydney / NSW / AU'],
    ['Unit 5, 12 Collins St, Melbourne, Victoria 3000', 'Owner / 12 Collins St / Unit 5 / 3000 / Melbourne / VIC / AU'],
    [
      'Acme Pty Ltd, 3 King William St, Adelaide SA 5000',
      'Acme Pty Ltd / 3 King William St / - / 5000 / Adelaide / SA / AU',
    ],
    // The United Kingdom and the islands.
    ['Buckingham Palace Road 1, London SW1A 1AA', 'Owner / Buckingham Palace Road 1 / - / SW1A 1AA / London / - / GB'],
    [
      'Ada, Flat 3, 10 Downing Street, London, SW1A 2AA, UK',
      'Ada / 10 Downing Street / Flat 3 / SW1A 2AA / London / - / GB',
    ],
    [
      'Jane Doe, Elm Court, 12 High Street, Oxford OX1 1AA, England',
      'Jane Doe / 12 High Street / Elm Court / OX1 1AA / Oxford / - / GB',
    ],
    [
      'Jane Doe, Rose Cottage, Church Lane, Little Snoring, Norfolk, NR21 0AA',
      'Jane Doe / Church Lane / Rose Cottage / NR21 0AA / Little Snoring / Norfolk / GB',
    ],
    ['Church Lane, Little Snoring, NR21 0AA', 'Owner / Church Lane / - / NR21 0AA / Little Snoring / - / GB'],
    ['5 Mulcaster Street, St Helier, JE2 3NJ', 'Owner / 5 Mulcaster Street / - / JE2 3NJ / St Helier / - / JE'],
    // Ireland.
    ['Ada, 1 Grafton Street, Dublin 2, D02 X285', 'Ada / 1 Grafton Street / - / D02 X285 / Dublin 2 / - / IE'],
    // Germany, Austria, Switzerland.
    ['Acme GmbH, Hauptstraße 5, 10115 Berlin, Deutschland', 'Acme GmbH / Hauptstraße 5 / - / 10115 / Berlin / - / DE'],
    ['Hauptstr. 5, 10115 Berlin, DE', 'Owner / Hauptstr. 5 / - / 10115 / Berlin / - / DE'],
    [
      'Frau Zoë Müller\nc/o Acme GmbH & Co. KG\nUnter den Linden 77\nD-10117 Berlin\nGermany',
      'Frau Zoë Müller / Unter den Linden 77 / c/o Acme GmbH & Co. KG / 10117 / Berlin / - / DE',
    ],
    [
      'c/o Acme GmbH, Zeil 1, 60313 Frankfurt, Allemagne',
      'Owner / Zeil 1 / c/o Acme GmbH / 60313 / Frankfurt / - / DE',
    ],
    [
      'Jane, 12345678, Packstation 145, 10115 Berlin, Germany',
      'Jane / Packstation 145 / 12345678 / 10115 / Berlin / - / DE',
    ],
    [
      'Jane, Packstation 145, 12345678, 10115 Berlin, Germany',
      'Jane / Packstation 145 / 12345678 / 10115 / Berlin / - / DE',
    ],
    ['Stephansplatz 1, Wien 1010, Österreich', 'Owner / Stephansplatz 1 / - / 1010 / Wien / - / AT'],
    ['Ada, Rue du Temple 3, 2400 Le Locle, Suisse', 'Ada / Rue du Temple 3 / - / 2400 / Le Locle / - / CH'],
    // France, Italy, Spain, Portugal.
    ['Rue de la Paix, 12, 75002 Paris, France', 'Owner / Rue de la Paix, 12 / - / 75002 / Paris / - / FR'],
    ['12, rue de la Paix, 75002 Paris, FRANCE', 'Owner / 12, rue de la Paix / - / 75002 / Paris / - / FR'],
    [
      'Società Acme S.r.l., Via Roma, 5, 00184 Roma (RM), Italia',
      'Società Acme S.r.l. / Via Roma, 5 / - / 00184 / Roma / RM / IT',
    ],
    ['Calle Mayor, 5, 2º B, 28013 Madrid, España', 'Owner / Calle Mayor, 5 / 2º B / 28013 / Madrid / - / ES'],
    ['Ada, Rua Augusta 24, 1100-053 Lisboa', 'Ada / Rua Augusta 24 / - / 1100-053 / Lisboa / - / PT'],
    ['Jane, Via Roma 5, 38122 Trento (TN), Italy', 'Jane / Via Roma 5 / - / 38122 / Trento / TN / IT'],
    ['Jane, Via Roma 5, 38122 Trento, TN, Italy', 'Jane / Via Roma 5 / - / 38122 / Trento / TN / IT'],
    // Letters of a province as well, but with a code that the province has not, or in an order that it does not know.
    ['Jane, 5 rue de Rivoli, 75001 Paris, FR', 'Jane / 5 rue de Rivoli / - / 75001 / Paris / - / FR'],
    ['Jane, 5 rue de Paris, 03200 Vichy, FR', 'Jane / 5 rue de Paris / - / 03200 / Vichy / - / FR'],
    ['Jane, Mannerheimintie 5, 00100 Helsinki FI', 'Jane / Mannerheimintie 5 / - / 00100 / Helsinki / - / FI'],
    ['Jane, Stephansplatz 1, 1010 Wien, AT', 'Jane / Stephansplatz 1 / - / 1010 / Wien / - / AT'],
    ['Jane, İstiklal Cad. 5, 34430 İstanbul, TR', 'Jane / İstiklal Cad. 5 / - / 34430 / İstanbul / - / TR'],
    // The Netherlands, Poland, Sweden, Czechia.
    ['Damrak 1, 1012 LG Amsterdam', 'Owner / Damrak 1 / - / 1012 LG / Amsterdam / - / NL'],
    [
      'Acme B.V., Keizersgracht 100, 1015AA Amsterdam, Nederland',
      'Acme B.V. / Keizersgracht 100 / - / 1015 AA / Amsterdam / - / NL',
    ],
    [
      'Łucja Nowak, ul. Marszałkowska 10, 00-950 Warszawa',
      'Łucja Nowak / ul. Marszałkowska 10 / - / 00-950 / Warszawa / - / PL',
    ],
    ['Ada, Drottninggatan 1, 111 51 Stockholm, Sverige', 'Ada / Drottninggatan 1 / - / 111 51 / Stockholm / - / SE'],
    ['Ada, Dlouhá 1, 110 00 Praha 1, Česko', 'Ada / Dlouhá 1 / - / 110 00 / Praha 1 / - / CZ'],
    // Brazil, India, Japan, Singapore, the Emirates.
    [
      'Ada, Av. Paulista, 1000, São Paulo - SP, 01310-100',
      'Ada / Av. Paulista, 1000 / - / 01310-100 / São Paulo / SP / BR',
    ],
    ['Ada, MG Road 5, Bengaluru, Karnataka 560001', 'Ada / MG Road 5 / - / 560001 / Bengaluru / Karnataka / IN'],
    ['Ada, 1-1 Chiyoda, 100-0001 Tokyo, 日本', 'Ada / 1-1 Chiyoda / - / 100-0001 / Tokyo / - / JP'],
    ['1 Raffles Place, #20-01, Singapore 048616', 'Owner / 1 Raffles Place / #20-01 / 048616 / Singapore / - / SG'],
    ['Villa 5, Al Wasl Road, Dubai, AE', 'Owner / Al Wasl Road / Villa 5 / - / Dubai / - / AE'],
    ['Jane, Villa 5, Al Wasl Road, Dubai, AE', 'Jane / Al Wasl Road / Villa 5 / - / Dubai / - / AE'],
    ['Jane, Villa 5, Dubai, AE', 'Jane / Villa 5 / - / - / Dubai / - / AE'],
    ['Ada, 1 Sheikh Zayed Rd, Dubai, United Arab Emirates.', 'Ada / 1 Sheikh Zayed Rd / - / - / Dubai / - / AE'],
  ])('%j', (text, expected) => {
    expect(summarize(text)).toBe(expected);
  });

  it.each([
    ['5 rue de Rivoli, 75001 Paris', 'missing country'],
    ['Ada, Hauptstr. 5, 10115 Berlin', 'missing country'],
    ['Ada, Via Roma 5, 00184 Roma', 'missing country'],
    ['Ada, 1 Main St, 19801 Wilmington, DE', 'missing country'],
    ['Ada, 1 Herzl St, Tel Aviv, IL 61000', 'missing country'],
    ['Ada, Jalan Raya 5, Praya, ID 83511', 'missing country'],
    // California has no such code.
    ['Ada, 1 Main St, Springfield, CA 10001', 'missing country'],
    ['Ada, Rue du Temple 3, 2400 LE LOCLE', 'missing country'],
    ['Ada, 1 Main St, Springfield, 555-1234', 'missing country'],
    ['Ada, Stephansplatz 1, 1010 Wien', 'missing country'],
    // Nothing says where the name ends.
    ['Elm Court, 12 High Street, Oxford OX1 1AA', 'missing name'],
    ['Trump Tower, 725 5th Ave, New York, NY 10022', 'missing name'],
    ['Agent 47, 1 Main St, Austin, TX 78701', 'missing name'],
    ['Rose Cottage, Church Lane, Little Snoring, NR21 0AA', 'missing name'],
    ['Ada Lovelace 1 Main St San Francisco CA 94105 USA', 'missing street'],
    ['Acme GmbH, 10115 Berlin, DE', 'missing street'],
    ['Mountain View, CA 94043', 'missing street, city, country'],
    ['Ada, 1 Hay St, Perth 6000 WA', 'missing country'],
    // A code of a state behind the city is no American order.
    ['1 Main St, 94105 San Francisco, CA', 'missing country'],
    ['1 Main St, 94105 san francisco, ca', 'missing country'],
    ['1 Main St, Boston, 02101, MA', 'missing country'],
    ['Ada, 1 Hay St, 2000 Sydney, NSW', 'missing country'],
    // Two countries are called so.
    ['Jane, 5 Avenue X, Kinshasa, Congo', 'missing postalCode, country'],
    ['Jane, 5 Avenue X, Kinshasa, Kongo', 'missing postalCode, country'],
    // A state of Brazil, a state of India or a country.
    ['Jane, Rua X 10, Belo Horizonte, MG', 'missing postalCode, country'],
    ['Jane, Rua X 10, Palmas, TO', 'missing postalCode, country'],
    ['Jane, 5 Ring Road, Raipur, CG', 'missing postalCode, country'],
    // A house, and not a person.
    ['Meadow View, 3 Church Lane, Oxford OX1 1AA, UK', 'missing name'],
    ['Orchard View, Church Lane, Oxford OX1 1AA', 'missing name'],
    ['Hilltop, 3 Church Lane, Oxford OX1 1AA, UK', 'missing name'],
    ['Rosewood, Church Lane, Oxford OX1 1AA', 'missing name'],
    ['The Laurels, 3 Church Lane, Oxford OX1 1AA', 'missing name'],
    ['The Old Rectory, Church Lane, Oxford OX1 1AA', 'missing name'],
    ['Jane, 12345678, 10115 Berlin, Germany', 'missing street'],
  ])('asks rather than guesses: %j', (text, expected) => {
    expect(summarize(text)).toBe(expected);
  });

  it.each([
    '38122 Trento, TN',
    '38122 trento, tn',
    '38122, Trento, TN',
    '38122 Trento TN',
    '38122 Trento (TN)',
    '38122 Trento, (TN)',
    '38122 Trento - TN',
    'Trento 38122, TN',
    'Trento 38122 TN',
    'Trento, TN 38122',
    'Trento TN 38122',
    '38068 Rovereto, TN',
    '43121 Parma, PR',
    '43121 Parma PR',
    'Parma 43121, PR',
    'Parma, PR 43121',
    '36100 Vicenza, VI',
    '05100 Terni, TR',
    '05100 Terni TR',
    '05100 Terni (TR)',
    '58100 Grosseto, GR',
    '65121 Pescara, PE',
    '84121 Salerno, SA',
    '98122 Messina, ME',
    '62100 Macerata, MC',
    '42121 Reggio Emilia, RE',
    '70121 Bari, BA',
    '80121 Napoli, NA',
    '28100 Novara, NO',
    '03100 Frosinone, FR',
    '50121 Firenze, FI',
    '50121 Firenze FI',
    '20121 Milano, MI',
    '90121 Palermo, PA',
    '19001 Guadalajara, GU',
    '13001 Ciudad Real, CR',
    '16001 Cuenca, CU',
    '18001 Granada, GR',
  ])('takes no province for a state or a country: %j', (end) => {
    for (const street of ['Via Roma 5', 'Corso Bettini 43', 'Loc. Campiglio 5']) {
      expect(summarize(`Jane, ${street}, ${end}`), street).toMatch(/^missing .*country$/);
    }
  });

  it('is for the owner when the first line is their name, whatever it looks like', () => {
    const text = 'Joy Meadows, 3 Church Lane, Oxford OX1 1AA, UK';
    expect(readShippingAddress(text, { name: 'Owner' }).missing).toEqual(['name']);
    expect(readShippingAddress(text, { name: 'joy meadows' }).address?.name).toBe('Joy Meadows');
  });

  it('refuses what is too long rather than leaving it out', () => {
    const long = 'and ring twice '.repeat(14);
    const tell = (given: Parameters<typeof readShippingAddress>[0]) => {
      try {
        return requireAddress(readShippingAddress(given, { name: 'Owner' }));
      } catch (error) {
        return error;
      }
    };
    const parts = { name: 'Jane Doe', street: '1 Main St', postalCode: '02101', city: 'Boston', country: 'US' };
    for (const [given, part, label] of [
      [`Jane Doe, 1 Main St, Apt 4B, ${long}, Boston, MA 02101`, 'extra', 'further lines'],
      [`Jane Doe ${long}, 1 Main St, Boston, MA 02101`, 'name', 'name'],
      [{ ...parts, extra: long }, 'extra', 'further lines'],
      [{ ...parts, name: long }, 'name', 'name'],
      [{ ...parts, region: long }, 'region', 'region'],
      [{ ...parts, phone: long }, 'phone', 'phone'],
    ] as const) {
      expect(tell(given)).toMatchObject({
        code: 'shipping_address_too_long',
        message: expect.stringMatching(new RegExp(`^The ${label} .* at most 200 characters`)),
        extras: { members: { tooLong: [part], longest: 200 } },
      });
    }
    expect(tell({ ...parts, extra: `Apt 4${' '.repeat(300)}B` })).toMatchObject({ extra: 'Apt 4 B' });
  });

  it('keeps the phone number, and no email', () => {
    const phoneOf = (text: string) => readShippingAddress(`Ada, 1 Main St, Austin, TX 78701, ${text}`).address?.phone;
    expect(['(415) 555-0123', 'Tel: 0415 555 012', '+1 415 555 0123', 'ada@example.com'].map(phoneOf)).toEqual([
      '(415) 555-0123',
      '0415 555 012',
      '+1 415 555 0123',
      undefined,
    ]);
  });
});
