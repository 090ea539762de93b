const wordsIn = (text: string): readonly string[] => text.trim().split(/\s+/);

/** The passwords that lead every list of breaches, and what people call a thing that they try out. The longer list has none this short. */
export const bestKnownPasswords = wordsIn(`
  0 1 12 123 1234 12345 123456 1234567 12345678 123456789 1234567890 0123456789 0000 00000000 000000 1111 111111 11111111
  112233 121212 123123 123321 123qwe 131313 159753 1q2w3e 1q2w3e4r 1qaz2wsx 222222 555555 654321 666666 696969 777777 7777777
  888888 987654321 999999 a aa aaa aaaaaa aa123456 abc abc123 abcd abcd1234 abcdef access admin admin1 admin123 administrator
  amanda andrew apple asdf asdfgh ashley bailey banana baseball batman buster changeme charlie cheese computer daniel default
  demo dev donald dragon example flower foo foobar football freedom fuckyou george ginger guest hannah harley hello
  hello123 helloworld hockey hunter hunter2 iloveyou jennifer jessica jesus jordan joshua key killer letmein live login
  love lovely maggie master matrix matthew michael mickey monkey monster mustang mypassword naruto nicole ninja nothing null
  orange p@ssw0rd pa55word pass pass123 passw0rd password password! password1 password1! password12 password123 paywright pepper
  pokemon postgres princess private prod production purple qazwsx qwer1234 qwerty qwerty1 qwerty123 qwertyuiop ranger
  robert root sandbox secret secret123 secretkey server shadow silver soccer solo starwars summer sunshine superman
  supersecret system taylor temp test test1 test123 test1234 tester testing thomas tigger token toor trustno1 undefined
  user welcome welcome1 whatever winter x xxx xxxxxx zaq12wsx zxcvbn
`).concat(['hello world', 'Hello, world!', 'Hello World!', 'correct horse battery staple']);

/** Beginnings or parts of what stands in manuals and test suites, in lower case and without signs. Chance spells none of them. */
export const published = wordsIn(`
  1415926535897932 7182818284590452 4142135623730950 6180339887498948
  123e4567e89b12d3 550e8400e29b41d4 9dad11d180b400c04fd430c8 f81d4fae7dec11d0 6ba7b8109dad11d1
  ac0974bec39a17e3 59c6995e998f97a5 5de4111afa1a4b94 7c852118294e51e6 47e179ec19748859
  8b3a350cf5c34c91 92db14e403b83dfe 4bbbf85ce3377467 dbda1821b80551c9 2a871d0798f97d79 4f3edf983ac636a6
  2b7e151628aed2a6 603deb1015ca71be eyjhbgcioijiuzi1
  abandonabandonabandon testtesttesttest legalwinnerthankyear letteradvicecageabsurd zoozoozoozoo
  thequickbrownfox tobeornottobe loremipsumdolor kt4vq9xlm2wzr7pyc8hsd3fjb6nga5eu
`);

/** What programmers write for fun, and the digits in their order. Chance does spell one of them now and then. */
export const magicWords = wordsIn(
  'deadbeef cafebabe cafed00d feedface baadf00d 8badf00d deadc0de badc0ffee c0ffee 0123456789abcdef fedcba9876543210 1234567890',
);

/**
 * What sentences are held together by: English, German, French, Spanish, Italian, Portuguese and Dutch. None of them is in
 * the lists that passphrases are made from.
 */
export const littleWords: ReadonlySet<string> = new Set(
  wordsIn(`
  a am an and are as at be been but by could did do does for from had has he her his how i if in is it its me my no not of on or our
  out she so some than the their them these to up us was we were which who would
  aber alle als am auch auf aus bei bin bis das dass dem den der des die du ein eine einem einen einer er es für ganz habe ich
  ihr im ist ja kein mein meine meinen mich mir mit nach nicht noch nur oder ohne sehr sein sich sie sind über um und uns unser vom
  von vor war was wenn wer wie wir wird wo zu zum zur
  au aux avec ce cette dans de du elle en est et être il ils je la le les leur ma mais mes moi ne nous où par pas pour que qui sa ses son
  sont sur ta te toi tout tu un une vous y
  al como con cuando del donde el ella es esta este está ha hay las lo los más mi mis muy para pero por porque se ser si sin
  su sus también tengo tiene una yo
  che chi ci dei della delle di e ed gli ho il io mio mia nel nella non per più questo sono suo ti tra
  ao com da das do dos ela ele em eu foi isso mas meu minha na nas nos não o os ou pela são sua tem um uma você
  dat een en heeft het hij ik je maar met mijn naar niet ook op te voor wat wij zij zijn
`),
);

/** Days, months, seasons, numbers, planets, colours, the alphabet of radio: each is known with its next one. */
export const knownLists: ReadonlySet<string> = new Set(
  wordsIn(`
  monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october
  november december spring summer autumn winter zero one two three four five six seven eight nine ten eleven twelve thirteen
  fourteen fifteen sixteen seventeen eighteen nineteen twenty first second third fourth fifth sixth seventh eighth ninth tenth
  mercury venus earth mars jupiter saturn uranus neptune pluto red orange yellow green blue indigo violet purple black white
  alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike oscar papa quebec romeo sierra tango
  uniform victor whiskey xray yankee zulu beta gamma epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma
  tau upsilon phi chi psi omega montag dienstag mittwoch donnerstag freitag samstag sonntag eins zwei drei vier fünf sechs sieben
  acht neun zehn lundi mardi mercredi jeudi vendredi samedi dimanche un deux trois quatre cinq sept huit neuf dix lunes
  martes jueves viernes domingo uno dos tres cuatro cinco seis siete ocho nueve diez apple banana cherry cat dog
  north south east west lorem ipsum dolor sit amet consectetur adipiscing elit
`),
);
