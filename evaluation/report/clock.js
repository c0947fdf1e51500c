// The time that everything in a clip's view follows: the video's, or its own where there is none.
//
//   const clock = new Clock(onTick);
//   clock.start(video, 6.0);      // or null for a clip without a file
//   clock.seek(2.4); clock.play(); clock.time
//
// A file that the browser can't play leaves the clock running on its own: the timelines stay usable.

class Clock {
  constructor(onTick) {
    this.onTick = onTick;
    this.rate = 1;
    this.number = 0;
    this.start(null, 1);
  }

  start(video, duration) {
    if (this.video) this.video.pause();
    this.number += 1; // what an earlier clip's video still reports is not ours
    Object.assign(this, { video, duration, usable: false, playing: false, ownTime: 0 });
    if (!video) return;
    const number = this.number;
    const on = (event, action) => video.addEventListener(event, () => {
      if (number === this.number) action();
    });
    on("loadedmetadata", () => this.takeVideo());
    on("error", () => this.dropVideo());
    on("seeked", () => this.tick());
    on("timeupdate", () => this.tick());
    on("ended", () => this.pause());
    on("pause", () => {
      if (this.usable) this.pause();
    });
    if (video.error) this.dropVideo();
    else if (video.readyState >= 1) this.takeVideo();
  }

  takeVideo() {
    this.usable = true;
    this.video.playbackRate = this.rate;
    if (this.ownTime > 0) this.video.currentTime = this.ownTime;
    if (this.playing) this.playVideo();
    this.tick();
  }

  dropVideo() {
    if (this.usable) this.ownTime = this.video.currentTime;
    this.usable = false;
    this.tick();
  }

  get time() {
    return this.usable ? Math.min(this.video.currentTime, this.duration) : this.ownTime;
  }

  seek(seconds) {
    this.ownTime = Math.min(Math.max(seconds, 0), this.duration);
    if (this.usable) this.video.currentTime = this.ownTime;
    this.tick();
  }

  play() {
    if (this.time >= this.duration - 0.05) this.seek(0);
    if (this.playing) return;
    this.playing = true;
    if (this.usable) this.playVideo();
    this.follow(this.number, performance.now());
    this.tick();
  }

  playVideo() {
    // Refused where the browser wants a click first, or aborted by the next clip.
    this.video.play().catch(() => this.pause());
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    if (this.usable) {
      this.ownTime = this.video.currentTime;
      this.video.pause();
    }
    this.tick();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  setRate(rate) {
    this.rate = rate;
    if (this.video) this.video.playbackRate = rate;
  }

  follow(number, before) {
    requestAnimationFrame((now) => {
      if (!this.playing || number !== this.number) return;
      if (!this.usable) {
        this.ownTime += (this.rate * Math.max(now - before, 0)) / 1000;
        if (this.ownTime >= this.duration) {
          this.ownTime = this.duration;
          this.pause();
          return;
        }
      }
      this.tick();
      this.follow(number, now);
    });
  }

  tick() {
    this.onTick(this.time, this.playing);
  }
}
