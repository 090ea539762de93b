// Optional: copy buttons for code, the current section in the navigation, and a menu that closes after a click on small screens.

for (const figure of document.querySelectorAll('figure.code')) {
  // Browsers offer the clipboard only over HTTPS and on localhost.
  if (!navigator.clipboard) break;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(figure.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
  figure.querySelector('figcaption').append(button);
}

const contents = document.getElementById('contents');
if (contents) {
  contents.addEventListener('click', (event) => {
    if (event.target.closest('a') && contents.matches(':popover-open')) contents.hidePopover();
  });
  followReader(contents);
}

function followReader(nav) {
  const links = new Map([...nav.querySelectorAll('a')].map((link) => [link.hash.slice(1), link]));
  const sections = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  let current;

  // The current section is the last one that starts above this line, a little below the bar.
  const line = 160;
  const update = () => {
    const section = sections.findLast((each) => each.getBoundingClientRect().top < line) ?? sections[0];
    const link = section && links.get(section.id);
    if (link === current) return;
    current?.removeAttribute('aria-current');
    link?.setAttribute('aria-current', 'true');
    current = link;
    keepVisible(nav, link);
  };

  let waiting = false;
  addEventListener(
    'scroll',
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        update();
      });
    },
    { passive: true },
  );
  update();
}

/** Scrolls the navigation alone: scrollIntoView would move the page as well. */
function keepVisible(nav, link) {
  if (!link || nav.scrollHeight <= nav.clientHeight) return;
  const top = link.getBoundingClientRect().top - nav.getBoundingClientRect().top;
  if (top < 40 || top > nav.clientHeight - 60) nav.scrollTop += top - nav.clientHeight / 3;
}
