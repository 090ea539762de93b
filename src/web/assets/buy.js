// The page of a funding link works without this file, by loading it again. With it, the page follows the payment by itself,
// shows how much time is left, and copies what is to be pasted into a wallet.

// The time that is left is counted from when the page was told, because the clock of a phone may be wrong.
let counted;
let end;

// How long a page that gets no stream waits before it looks again.
const lookAgainMs = 5000;

let events;
const main = document.querySelector('main[data-events]');
if (main) {
  follow(main);
  addEventListener('pagehide', () => events.close());
  // Back from the card company the browser may show the page as it was left.
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
  showTimeLeft();
  setInterval(showTimeLeft, 1000);
}

// The clipboard is there only over HTTPS and on the machine itself.
if (navigator.clipboard) {
  document.documentElement.classList.add('can-copy');
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
}

function follow(page) {
  events = new EventSource(page.dataset.events);
  events.addEventListener('state', ({ data }) => {
    const state = JSON.parse(data);
    show(page, state);
    if (state.phase === 'over') events.close();
  });
  // A browser connects again by itself after a break, but not after a refusal, such as when too many streams are open.
  events.addEventListener('error', () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(() => lookAgain(page), lookAgainMs);
  });
}

// Loads the page as a person would, shows what has changed, and asks for a stream once more.
async function lookAgain(page) {
  try {
    const answer = await fetch(location.href);
    const loaded = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const now = loaded.querySelector('main[data-phase]');
    if (now) {
      show(page, {
        phase: now.dataset.phase,
        title: loaded.title,
        said: loaded.querySelector('.announced').textContent,
        progress: now.querySelector('.progress')?.innerHTML ?? '',
        main: now.innerHTML,
      });
    }
  } catch {
    // Without a connection the page goes on showing what it knows.
  }
  if (page.dataset.phase !== 'over') follow(page);
}

function show(page, state) {
  const announced = document.querySelector('.announced');
  if (state.phase === page.dataset.phase) {
    const progress = page.querySelector('.progress');
    if (progress && progress.innerHTML !== state.progress) progress.innerHTML = state.progress;
  } else {
    page.dataset.phase = state.phase;
    page.innerHTML = state.main;
    showTimeLeft();
  }
  document.title = state.title;
  if (announced.textContent !== state.said) announced.textContent = state.said;
}

function showTimeLeft() {
  const left = document.querySelector('[data-left]');
  if (!left) return;
  if (left !== counted) {
    counted = left;
    end = performance.now() + Number(left.dataset.left) * 1000;
  }
  const seconds = Math.max(0, Math.round((end - performance.now()) / 1000));
  left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left`;
  left.classList.toggle('soon', seconds < 120);
}
